"""Many small images in one, as a data URI."""

from __future__ import annotations

import base64
import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 32  # most pixels of a cell


def sprite(images: NDArray[np.uint8]) -> dict[str, Any]:
    """Return a picture of all images, row by row, and its number of columns.

    Parameters
    ----------
    images
        (N, C, H, W) uint8 with 1, 3 or 4 channels.
    """
    columns = max(1, math.ceil(math.sqrt(len(images))))
    rows = max(1, math.ceil(len(images) / columns))
    side = min(SIDE, max(images.shape[-2:]))
    sheet = Image.new("RGB", (columns * side, rows * side))
    for i, image in enumerate(images):
        sheet.paste(_cell(image, side), (i % columns * side, i // columns * side))
    out = io.BytesIO()
    sheet.save(out, "WEBP", quality=82)
    data = base64.b64encode(out.getvalue()).decode()
    return {"data": f"data:image/webp;base64,{data}", "columns": columns, "count": len(images)}


def _cell(image: NDArray[np.uint8], side: int) -> Image.Image:
    pixels = image[0] if image.shape[0] == 1 else image[:3].transpose(1, 2, 0)
    whole = Image.fromarray(np.ascontiguousarray(pixels)).convert("RGB")
    whole.thumbnail((side, side))
    cell = Image.new("RGB", (side, side))
    cell.paste(whole, ((side - whole.width) // 2, (side - whole.height) // 2))
    return cell
