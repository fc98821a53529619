from __future__ import annotations

from hypothesis import settings

# The first call of a torch function is slow; how long a call takes is not what is tested here.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")
