"""Memory systems in environments of their own, so that no two vendors' pins meet.

Beside the modules lie two files an environment: ``NAME.toml`` says what is in
it, and ``NAME.lock`` in which versions. This package loads nothing by itself.
"""
