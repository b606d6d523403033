"""The Hugging Face Hub: publishing dataset, metric and leaderboard, and reading them back.

``names`` says which repository is what, ``packing`` (with ``metric_files`` and ``space_files``)
which files it gets, ``changes`` what differs from what is there, ``client`` talks to the Hub,
``failures`` turns what goes wrong into a sentence, and ``pushing`` puts them together. ``pulling``
reads a published leaderboard and its reports. Design: design/publishing.md.
"""
