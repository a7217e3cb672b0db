"""An inverted index: which documents have all of some words, and which have most of them."""

import re

import libcohort as lc

DOCUMENTS = [
    "the quick brown fox jumps over the lazy dog",
    "a lazy cat sleeps over there",
    "the dog and the cat are friends",
    "quick foxes and lazy dogs",
    "a brown dog jumps",
]

words = [re.findall(r"[a-z]+", text) for text in DOCUMENTS]
number, vocabulary = lc.factorize([w for ws in words for w in ws])
document = [d for d, ws in enumerate(words) for _ in ws]
index = lc.Sets.from_pairs(number, document)  # a set of documents for each word


def rows(text):
    at = lc.index_in(text.split(), vocabulary).tolist()
    assert -1 not in at, "a word that no document has"
    return at


def search(text):
    return index.query("and", [rows(text)], want="sets")[0].members().tolist()


def search_most(text, least):
    return index.query("atleast", [rows(text)], least=least, want="sets")[0].members().tolist()


for text in ("lazy", "brown dog", "the dog", "quick lazy"):
    print(f"{text:12} {search(text)}")
assert search("brown dog") == [0, 4] and search("lazy") == [0, 1, 3]
print("two of 'quick brown dog':", search_most("quick brown dog", 2))
assert search_most("quick brown dog", 2) == [0, 4]
