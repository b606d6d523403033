"""The HTML page of reports: one file that needs nothing but a browser.

``data`` gathers what the page shows, ``markup`` writes escaped HTML, ``figures``,
``charts``, ``cut_charts``, ``asked`` and ``cases`` make its parts, ``page`` puts them
together. Standard library only; the copy of plotly.js in ``assets`` draws the charts.
"""
