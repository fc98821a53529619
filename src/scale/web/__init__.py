"""Static files of the live page and of the report: ES modules, styles, vendored charts.

There is no build step, and nothing is loaded from the network.
"""

from scale.web.assets import Asset, assets

__all__ = ["Asset", "assets"]
