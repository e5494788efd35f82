"""Entry point of the app, on a Space and at home: `python app.py`."""

import os

from app.address import address

address(os.environ)  # before Gradio, which reads the same variables when it is imported

from app.ui import build  # noqa: E402

demo = build()

if __name__ == "__main__":
    demo.launch()
