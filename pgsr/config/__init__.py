"""The release configuration: a TOML file, read strictly, and the objects that it describes.

Paths in it are relative to the file.
"""

from pgsr.config.loading import NO_LEDGER, ReleaseConfig, load_config
from pgsr.config.queries import Query, build_query

__all__ = ["NO_LEDGER", "Query", "ReleaseConfig", "build_query", "load_config"]
