"""Memory systems under test: the contract, the registry and the adapters.

Import from the modules themselves (``providers.protocol``,
``providers.registry``); this package loads nothing by itself.
"""
