"""The prompts of the benchmark: four kinds, three each."""

PROMPTS: dict[str, tuple[str, str, str]] = {
    "question": (
        "Explain in two sentences why the sky is blue.",
        "What is the difference between weather and climate?",
        "How does a refrigerator keep food cold?",
    ),
    "editing": (
        "Repeat this text with correct spelling: The quick brown fox jumps over the lazi dog, "
        "and the lazi dog does not mind that the quick brown fox jumps over it again and again.",
        "Rewrite in the past tense: She walks to the market, buys three apples, walks back "
        "home, and bakes a cake with the three apples.",
        "Copy this list and sort it by name: Oslo 709, Bergen 291, Trondheim 212, "
        "Stavanger 149, Tromso 78.",
    ),
    "code": (
        "Write a Python function that returns the n-th Fibonacci number.",
        "Write a Python class for a stack with push, pop and peek.",
        "Write an SQL query that counts the orders of every customer.",
    ),
    "reasoning": (
        "A train has 12 cars with 40 seats each. 185 seats are taken. How many are free? "
        "Show the steps.",
        "Anna is 3 years older than Ben. Together they are 27. How old is each? Show the steps.",
        "List the months with 30 days, then count them.",
    ),
}
