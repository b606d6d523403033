"""Reports, explanations and lists as tables for a terminal.

``text`` makes foreign text safe to show, ``cells`` writes numbers, ``layout`` is
what all tables look like; ``overview``, ``details`` and ``lists`` hold the tables.
Nothing here prints: each function returns something that ``rich`` can.
"""
