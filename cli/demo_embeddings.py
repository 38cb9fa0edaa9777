"""Sentence embeddings of a BERT encoder with mean pooling, by NumPy: those of all-MiniLM-L6-v2 without PyTorch."""

import json
import os
from pathlib import Path

# NumPy reads these as it is loaded. Of threads that share a busy processor each product waits for the slowest.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")

import numpy as np  # noqa: E402
import tokenizers  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

LONGEST = 24  # tokens of a sentence that are looked at

# A text that no result is written into: everybody does everything.
WHO = [
    "My neighbour", "The retired engineer", "A young doctor", "The captain of the ferry", "Our history teacher",
    "A travelling musician", "The baker from the corner", "Her eldest cousin", "The night nurse", "A patient librarian",
]  # fmt: skip
WHAT = [
    "repairs old bicycles in a shed by the river.",
    "has just missed the last train to the coast.",
    "grows tomatoes on the roof of the town hall.",
    "never answers the telephone before breakfast.",
    "is learning to play the violin without a teacher.",
    "found a silver coin under the floor of the kitchen.",
    "writes long letters to a friend in Lisbon.",
    "believes that the price of bread will double again.",
    "won the chess tournament with a careless sacrifice.",
    "photographs the same tree on the first day of every month.",
    "lost an umbrella in the rain on the way to the museum.",
    "explains to children how a telescope gathers light.",
    "voted against the new road through the forest.",
    "keeps bees behind the house and sells their honey.",
    "measured the depth of the lake with a rope and a stone.",
    "dreams of sailing around the world alone.",
    "paid too much for a painting of a horse.",
    "cooks soup for forty people every Sunday.",
    "cannot remember the name of the street.",
    "wants to know why the computer is so slow today.",
]


def sentences():
    return [f"{who} {what}" for who in WHO for what in WHAT]


def error_function(x):
    """By 7.1.26 of Abramowitz and Stegun, to 1.5e-7: NumPy has none."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - series * np.exp(-x * x))


def gelu(x):
    return 0.5 * x * (1 + error_function(x / np.sqrt(2)))


class SentenceEncoder:
    """The model of a folder. embed() gives unit vectors [sentences, hidden]."""

    @staticmethod
    def is_one(folder):
        """Whether it is a BERT with the pooling of sentence-transformers beside it."""
        path = Path(folder, "config.json")
        return (path.exists() and json.loads(path.read_text()).get("model_type") == "bert"
                and Path(folder, "1_Pooling").exists() and Path(folder, "tokenizer.json").exists())  # fmt: skip

    def __init__(self, folder):
        self.config = json.loads(Path(folder, "config.json").read_text())
        self.weights = load_file(Path(folder, "model.safetensors"))
        self.tokenizer = tokenizers.Tokenizer.from_file(str(Path(folder, "tokenizer.json")))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.enable_padding()

    def linear(self, x, name):
        flat = x.reshape(-1, x.shape[-1])  # one product, where NumPy would make one for each sentence
        y = flat @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]
        return y.reshape(*x.shape[:-1], -1)

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.config["layer_norm_eps"])
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def attention(self, x, mask, name):
        heads = self.config["num_attention_heads"]

        def split(part):
            y = self.linear(x, f"{name}.self.{part}")
            return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.swapaxes(-1, -2) / np.sqrt(np.float32(query.shape[-1]))
        scores = np.where(mask[:, None, None, :], scores, np.float32(-1e9))
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        return mixed.swapaxes(1, 2).reshape(x.shape)

    def layer(self, x, mask, name):
        mixed = self.linear(self.attention(x, mask, f"{name}.attention"), f"{name}.attention.output.dense")
        x = self.norm(x + mixed, f"{name}.attention.output.LayerNorm")
        inner = gelu(self.linear(x, f"{name}.intermediate.dense"))
        return self.norm(x + self.linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def embed(self, texts):
        encoded = self.tokenizer.encode_batch(texts)
        ids, mask = (np.array([getattr(each, field) for each in encoded]) for field in ("ids", "attention_mask"))
        table = {part: self.weights[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")}
        x = table["word"][ids] + table["position"][: ids.shape[1]] + table["token_type"][0]
        x = self.norm(x, "embeddings.LayerNorm").astype(np.float32)
        for i in range(self.config["num_hidden_layers"]):
            x = self.layer(x, mask.astype(bool), f"encoder.layer.{i}").astype(np.float32)
        mean = (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)
