"""The place of the cache folder: light to load, as most commands look into it."""

import os
from functools import lru_cache
from pathlib import Path


def cache_dir() -> Path:
    """Return the cache folder: ``MASEVAL_CACHE_DIR``, or the one that the platform provides."""
    cache = os.environ.get("MASEVAL_CACHE_DIR")
    if cache:
        return Path(cache).expanduser().absolute()
    return _user_cache(os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=4)
def _user_cache(xdg_cache: str | None, home: str | None) -> Path:
    """Return the user's cache folder; it depends on these variables, and takes long to find."""
    import platformdirs

    return platformdirs.user_cache_path("maseval")
