import numpy as np

from scale.evaluate import floor_transforms


def images(count, seed=0, side=12):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 3, side, side), dtype=np.uint8)


def test_pixels_of_the_right_size_are_the_images_themselves():
    shown = images(5)
    pixels = floor_transforms(images(20), image_size=12)["pixels"](shown)
    assert pixels.dtype == np.float32
    np.testing.assert_allclose(pixels, shown.reshape(5, -1) / 255, rtol=1e-6)


def test_components_are_64_or_as_many_as_the_bank_allows():
    assert floor_transforms(images(100), 12)["pca"](images(5)).shape == (5, 64)
    assert floor_transforms(images(10), 12)["pca"](images(5)).shape == (5, 10)


def test_equal_seeds_give_equal_components_and_images_stay_as_they_were():
    shown = images(30)
    before = shown.copy()
    shown.flags.writeable = False
    first, again = (floor_transforms(shown, 8, seed=3)["pca"](shown) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(shown, before)
