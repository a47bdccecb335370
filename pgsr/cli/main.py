"""Entry point `pgsr`: the one place where exceptions become exit codes.

Signals are taken over before anything else is loaded, so that Ctrl-C is one line from the start.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pgsr.cli.process import Signals, Streams, Terminated


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `arguments` default to those of the process."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    with Signals(last=arguments is None) as signals, Streams():
        try:
            from pgsr.cli import app

            app.call(words)
            sys.stdout.flush()
            signals.over()
        except BaseException as error:
            code = _exit_code(signals.settle(error) or error, words)
            signals.over()
            return code
    return 0


def _exit_code(error: BaseException, words: Sequence[str]) -> int:
    """Say what happened, and the exit code; a signal while the commands were loaded needs nothing of them."""
    if isinstance(error, (KeyboardInterrupt, Terminated)) and "pgsr.cli.app" not in sys.modules:
        word, code = ("terminated", 143) if isinstance(error, Terminated) else ("interrupted", 130)
        print(f"{word}: pgsr: nothing was left half-written", file=sys.stderr)
        return code
    from pgsr.cli import app, faults

    return faults.exit_code(error, app.called(words))


if __name__ == "__main__":
    sys.exit(main())
