"""What the Lab of the Explore page says and draws: words and numbers for questions that the models
were asked once more. Plain numbers in, payloads out; knows no model and no server.
"""
