"""`kvgate-router`: the command line, from words to an exit status.

Exit statuses: 0 ended on a signal with everything served; 1 could not start or go on, or requests were cut at the
end; 2 bad flags or configuration, or servers that do not fit together.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import sys
from collections.abc import Sequence

import uvloop

from router import quick_import  # noqa: F401
from router.check_config import report
from router.config import Config
from router.errors import ConfigError, Misfit, StartError
from router.flags import read_command_line
from router.lifecycle import Lifecycle
from router.log import Log
from router.parts import Keys, Parts
from router.tls import client_context, server_context

gc.freeze()
gc.enable()

EXIT_CANNOT_RUN = 1
EXIT_USAGE = 2
_STDOUT = 1
_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EPIPE)


def main(argv: Sequence[str] | None = None) -> int:
    """One line on stderr for whatever is wrong; never a traceback for what the operator can mend."""
    log = Log(as_json=False)
    try:
        asked = read_command_line(sys.argv[1:] if argv is None else argv, os.environ)
        log = Log(as_json=asked.config.log_format == "json")
        if asked.command == "check-config":
            return _check(asked.config)
        return _serve(asked.config, log)
    except (ConfigError, Misfit) as error:
        log.error(str(error))
        return EXIT_USAGE
    except StartError as error:
        log.error(str(error))
        return EXIT_CANNOT_RUN
    except OSError as error:
        if error.errno not in _CANNOT_WRITE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
        if error.errno != errno.EPIPE:  # whoever read has seen enough
            log.error(f"standard output cannot be written: {error.strerror}")
        return EXIT_CANNOT_RUN


def _check(config: Config) -> int:
    keys = Keys(config)
    if config.tls is not None:
        server_context(config.tls)
    if config.decoder_ca is not None:
        client_context(config.decoder_ca)
    print(report(config, keys), flush=True)
    return 0


def _serve(config: Config, log: Log) -> int:
    keys = Keys(config)
    tls = server_context(config.tls) if config.tls is not None else None

    async def serve() -> int:
        return await Lifecycle(config, Parts(config, keys, log), tls, log).run()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serve())
