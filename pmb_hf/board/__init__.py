"""The board that Space and static page show, made from an export.

``reader`` reads a folder, ``wire`` checks its rows and makes them safe to show, ``model``
chooses and compares them, ``columns`` makes the table, ``upload`` scores a visitor's file,
``visitors`` keeps it no longer than need be, ``parquet_rows`` unpacks it with care, ``static``
writes the page that needs no server.
"""
