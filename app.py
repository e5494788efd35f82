"""Entry point of the app, on a Space and at home: `python app.py`."""

from app.ui import build

demo = build()

if __name__ == "__main__":
    demo.launch()
