"""Private, consistent, provably optimal hierarchical statistics.

`import pgsr` is light: names are loaded on first use and no heavy library with them.
"""
