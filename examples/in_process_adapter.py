"""A memory system as a class, measured in this process. Run it: python in_process_adapter.py"""

import re

import pmb_hf
from pmb_hf.providers.protocol import Hit
from pmb_hf.report import judge


class WordOverlap:
    def reset(self):
        self.store = {}  # (user, belief id) -> scopes, text. Your system goes here.

    __init__ = reset  # a new one is empty

    def add(self, *, belief_id, user_id, text, aliases, metadata):
        self.store[user_id, belief_id] = set(metadata["scope"]), " ".join([text, *aliases])

    update = add  # leave it out if your system can't change a memory

    def search(self, *, query, user_id, scopes, limit):
        hits = []
        for (owner, belief_id), (scope, text) in self.store.items():
            score = len(words(query) & words(text)) / max(len(words(query)), 1)
            if owner == user_id and scope & set(scopes) and score >= 0.5:
                hits.append(Hit(belief_id, score, text))
        return sorted(hits, key=lambda hit: -hit.score)[:limit]


def words(text):
    return set(re.findall(r"\w+", text.lower()))


if __name__ == "__main__":
    corpus = pmb_hf.load_corpus("native")
    report = pmb_hf.run(WordOverlap(), corpus, out="word-overlap.json")
    print(judge(report, corpus).retrieval["passed"], "of", len(corpus.cases), "cases passed")
