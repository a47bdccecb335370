"""Command line of pgsr: arguments, progress bars, exit codes; the arithmetic is on the floors below."""
