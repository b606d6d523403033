"""The leaderboard: reports as rows that can be put side by side, and why some can't.

``facts`` says what a run is, ``marks`` why it is not ranked, ``figures`` what it comes
to under each set of rules, ``answers`` what it returned case by case, ``subjects`` what
the cases ask, ``published`` what upstream has published. ``board`` puts them together and
``wire`` writes and reads ``leaderboard.json``; the format is told in design/leaderboard.md.
"""
