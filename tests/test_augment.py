"""Views: their law, their arithmetic against slow references, and their manners."""

import colorsys
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats

from scale._errors import InputError, UnknownNameError
from scale.augment import (
    AUGMENTATIONS,
    Augmentation,
    adjust_brightness_,
    adjust_contrast_,
    adjust_saturation_,
    resize,
    shift_hue_,
    to_grey,
    two_views,
)

PRESETS = list(AUGMENTATIONS)


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("shape", [(5, 3, 32, 32), (1, 1, 28, 28), (2, 3, 20, 33), (0, 3, 8, 8)])
def test_views_are_channels_last_floats_between_0_and_1(name, shape):
    augmentation = AUGMENTATIONS[name]
    views = augmentation(noise(*shape), seeded())
    side = (augmentation.size, augmentation.size) if augmentation.size else shape[2:]
    assert views.shape == (*shape[:2], *side)
    assert views.dtype == torch.float32
    assert views.is_contiguous(memory_format=torch.channels_last)
    assert ((views >= 0) & (views <= 1)).all()


@pytest.mark.parametrize("name", PRESETS)
def test_equal_generators_give_equal_bits_and_the_input_stays(name):
    images = noise(200, 3, 32, 32)
    before = images.clone()
    first, second = (AUGMENTATIONS[name](images, seeded(3)) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(images, before)


@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"none"}))
def test_each_copy_of_one_image_gets_its_own_view(name):
    views = AUGMENTATIONS[name](noise(1, 3, 32, 32).expand(8, -1, -1, -1), seeded())
    distances = torch.cdist(views.flatten(1), views.flatten(1)) + torch.eye(8)
    assert (distances > 0.01).all()


def test_global_random_state_is_untouched():
    before = torch.get_rng_state()
    two_views(noise(4, 3, 16, 16), AUGMENTATIONS["cifar"], seeded())
    assert torch.equal(torch.get_rng_state(), before)


def test_twin_of_view_i_is_view_i_plus_n():
    images = noise(6, 3, 8, 8)
    twins = two_views(images, AUGMENTATIONS["none"], seeded())
    assert torch.equal(twins[:6], twins[6:])
    assert torch.allclose(twins[:6], images / 255, atol=1e-6)
    views = two_views(images, AUGMENTATIONS["cifar"], seeded())
    assert views.shape == (12, 3, 8, 8)
    assert not torch.equal(views[:6], views[6:])


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize("shape", [(3, 3, 32, 32), (3, 1, 7, 12)])
def test_neutral_settings_return_the_image(interpolation, shape):
    images = noise(*shape)
    views = Augmentation(interpolation=interpolation)(images, seeded())
    assert torch.allclose(views, images / 255, atol=1e-6)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_flip_mirrors_the_columns_exactly(interpolation):
    images = noise(3, 3, 9, 14)
    plain = Augmentation(interpolation=interpolation)(images, seeded())
    flipped = Augmentation(interpolation=interpolation, flip=1.0)(images, seeded())
    assert torch.equal(flipped, plain.flip(3))


def test_half_of_the_images_are_flipped_at_one_half():
    images = torch.zeros(2000, 1, 1, 2, dtype=torch.uint8)
    images[..., 1] = 255
    views = Augmentation(flip=0.5)(images, seeded())
    flipped = int((views[:, 0, 0, 0] > 0.5).sum())
    assert stats.binomtest(flipped, 2000, 0.5).pvalue > 1e-4


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("side", "size"), [(64, 32), (32, 32), (24, 40)])
def test_crops_equal_torchs_antialiased_interpolation_of_the_same_boxes(interpolation, side, size):
    images = noise(20, 3, side, side)
    augmentation = Augmentation(crop_scale=(0.08, 1.0), interpolation=interpolation, size=size)
    boxes = augmentation._draw_boxes(images, seeded(5)).int().tolist()
    views = augmentation(images, seeded(5))
    for image, view, (left, top, width, height) in zip(images, views, boxes, strict=True):
        crop = image[None, :, top : top + height, left : left + width] / 255
        expected = F.interpolate(crop, (size, size), mode=interpolation, antialias=True)
        assert torch.allclose(view, expected[0].clamp(0, 1), atol=1e-5)


def slow_box(rng, scale, ratio, height, width):
    """Draw one crop by torchvision's definition."""
    for _ in range(10):
        area = height * width * rng.uniform(*scale)
        aspect = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return rng.integers(width - w + 1), rng.integers(height - h + 1), w, h
    w = min(width, round(height * ratio[1]))
    h = min(height, round(width / ratio[0]))
    return (width - w) // 2, (height - h) // 2, w, h


@pytest.mark.parametrize(("height", "width"), [(32, 32), (24, 60)])
def test_boxes_follow_the_law_of_the_slow_definition(height, width):
    count, augmentation = 4000, Augmentation(crop_scale=(0.2, 1.0))
    images = torch.empty(count, 1, height, width, dtype=torch.uint8)
    ours = augmentation._draw_boxes(images, seeded(1)).numpy()
    rng = np.random.default_rng(2)
    slow = np.array(
        [slow_box(rng, (0.2, 1.0), augmentation.crop_ratio, height, width) for _ in range(count)]
    )
    assert (ours[:, :2] >= 0).all()
    assert (ours[:, 0] + ours[:, 2] <= width).all()
    assert (ours[:, 1] + ours[:, 3] <= height).all()
    for column in range(4):
        assert stats.ks_2samp(ours[:, column], slow[:, column]).pvalue > 1e-3
    assert stats.ks_2samp(ours[:, 2] * ours[:, 3], slow[:, 2] * slow[:, 3]).pvalue > 1e-3


def test_the_law_does_not_depend_on_the_place_in_the_batch():
    images = torch.empty(4000, 1, 32, 32, dtype=torch.uint8)
    boxes = Augmentation(crop_scale=(0.2, 1.0))._draw_boxes(images, seeded()).numpy()
    for column in range(4):
        assert stats.ks_2samp(boxes[:2000, column], boxes[2000:, column]).pvalue > 1e-3


def test_a_box_that_can_never_fit_becomes_the_largest_centred_one():
    augmentation = Augmentation(crop_scale=(0.99, 0.999), crop_ratio=(1.0, 1.0))
    boxes = augmentation._draw_boxes(torch.empty(3, 1, 10, 40, dtype=torch.uint8), seeded())
    assert boxes.tolist() == [[15, 0, 10, 10]] * 3


def test_affine_map_keeps_a_centred_disc_and_fills_with_black():
    images = torch.full((50, 1, 28, 28), 255, dtype=torch.uint8)
    views = Augmentation(rotation=45.0)(images, seeded())
    assert torch.allclose(views[:, 0, 13:15, 13:15], torch.ones(()), atol=1e-5)
    assert (views[:, 0, 0, 0] < 1).any()
    still = Augmentation(zoom=(1.0, 1.0 + 1e-7))(noise(4, 3, 9, 13), seeded())
    assert torch.allclose(still, noise(4, 3, 9, 13) / 255, atol=1e-4)


def test_affine_translation_zoom_and_rotation_reach_their_bounds_only():
    images = torch.zeros(400, 1, 41, 41, dtype=torch.uint8)
    images[:, :, 20, 30] = 255  # ten pixels right of the centre
    rows, columns = torch.meshgrid(torch.arange(41.0), torch.arange(41.0), indexing="ij")

    def centroid(views: torch.Tensor) -> torch.Tensor:
        mass = views[:, 0] / views[:, 0].sum((1, 2), keepdim=True)
        return torch.stack([(mass * columns).sum((1, 2)), (mass * rows).sum((1, 2))], 1) - 20

    shift = centroid(Augmentation(translate=0.1)(images, seeded())) - torch.tensor([10.0, 0.0])
    assert 3.5 < shift.abs().max() < 4.1 + 1e-3
    turned = centroid(Augmentation(rotation=15.0)(images, seeded()))
    angles = torch.rad2deg(torch.atan2(turned[:, 1], turned[:, 0]))
    assert 14 < angles.abs().max() < 15.5
    assert angles.min() < 0 < angles.max()
    zoomed = centroid(Augmentation(zoom=(0.8, 1.2))(images, seeded()))[:, 0]
    assert 7.5 < zoomed.min() < 8.5
    assert 11.5 < zoomed.max() < 12.5


def test_affine_map_and_crop_and_flip_are_one_pass_over_the_same_image():
    ramp = torch.arange(32, dtype=torch.uint8).expand(60, 1, 32, 32) * 8
    law = Augmentation(crop_scale=(0.3, 1.0), flip=0.5)
    barely = replace(law, zoom=(1.0, 1.0 + 1e-7))
    # A ramp is linear, so the two kernels agree away from the borders when boxes and flips do.
    inner = (slice(None), slice(None), slice(4, -4), slice(4, -4))
    difference = law(ramp, seeded(1))[inner] - barely(ramp, seeded(1))[inner]
    assert difference.abs().max() < 1e-3


def slow_hue(image: np.ndarray, shift: float) -> np.ndarray:
    out = np.empty_like(image)
    for y, x in np.ndindex(image.shape[1:]):
        hue, saturation, value = colorsys.rgb_to_hsv(*image[:, y, x])
        out[:, y, x] = colorsys.hsv_to_rgb((hue + shift) % 1, saturation, value)
    return out


def test_hue_shift_equals_the_way_through_hsv():
    images = noise(6, 3, 12, 12) / 255
    images[0, :, :4] = images[0, :1, :4]  # greys
    images[1] = (images[1] > 0.5).float()  # corners of the cube, black and white among them
    shifts = torch.tensor([0.1, -0.1, 0.5, -0.5, 0.0, 0.037])
    expected = [slow_hue(i.double().numpy(), float(s)) for i, s in zip(images, shifts, strict=True)]
    ours = shift_hue_(images.clone(), shifts[:, None, None])
    assert np.allclose(ours.numpy(), np.stack(expected), atol=1e-5)


def test_brightness_contrast_and_saturation_equal_their_per_image_definitions():
    images = noise(4, 3, 6, 6) / 255
    factors = torch.tensor([0.0, 0.6, 1.0, 1.4])
    bright = adjust_brightness_(images.clone(), factors[:, None, None, None])
    contrasted = adjust_contrast_(images.clone(), factors[:, None, None, None])
    saturated = adjust_saturation_(images.clone(), factors[:, None, None, None])
    for n, (image, f) in enumerate(zip(images, factors, strict=True)):
        grey = 0.2989 * image[0] + 0.587 * image[1] + 0.114 * image[2]
        assert torch.allclose(bright[n], (f * image).clamp(0, 1), atol=1e-6)
        expected = f * image + (1 - f) * grey.mean()
        assert torch.allclose(contrasted[n], expected.clamp(0, 1), atol=1e-6)
        assert torch.allclose(saturated[n], (f * image + (1 - f) * grey).clamp(0, 1), atol=1e-6)


def test_jitter_and_grey_fall_on_the_told_share_and_leave_the_others_exact():
    images = noise(1, 3, 8, 8).expand(3000, -1, -1, -1)
    plain = Augmentation()(images, seeded())
    jittered = Augmentation(jitter=0.8, brightness=0.4, hue=0.1)(images, seeded())
    changed = int((jittered != plain).flatten(1).any(1).sum())
    assert stats.binomtest(changed, 3000, 0.8).pvalue > 1e-4
    greyed = Augmentation(grey=0.2)(images, seeded())
    changed = (greyed != plain).flatten(1).any(1)
    assert stats.binomtest(int(changed.sum()), 3000, 0.2).pvalue > 1e-4
    assert torch.equal(greyed[changed], to_grey(plain[changed]).expand(-1, 3, -1, -1))


def test_the_papers_views_of_tinyimagenet_keep_their_colours():
    """It crops and flips these images, and changes no colour."""
    images = torch.zeros(64, 3, 64, 64, dtype=torch.uint8)
    images[:, 0], images[:, 1], images[:, 2] = 200, 100, 50
    views = two_views(images, AUGMENTATIONS["tinyimagenet-paper"], seeded())
    colour = torch.tensor([200, 100, 50])[:, None, None] / 255
    torch.testing.assert_close(views, colour.expand(128, 3, 32, 32))


def test_brightness_factors_are_uniform():
    images = torch.full((4000, 1, 1, 1), 100, dtype=torch.uint8)
    views = Augmentation(jitter=1.0, brightness=0.4)(images, seeded())
    factors = views.flatten().numpy() * 255 / 100
    assert stats.kstest(factors, stats.uniform(0.6, 0.8).cdf).pvalue > 1e-3


def test_one_channel_images_ignore_saturation_hue_and_grey():
    images = noise(16, 1, 8, 8)
    views = Augmentation(jitter=1.0, saturation=0.4, hue=0.1, grey=1.0)(images, seeded())
    assert torch.allclose(views, images / 255, atol=1e-6)


def test_reducing_a_checkerboard_gives_grey_not_aliases():
    rows = torch.arange(64)
    board = ((rows[:, None] + rows) % 2 * 255).to(torch.uint8).expand(1, 3, 64, 64)
    for views in (Augmentation(size=32)(board, seeded()), resize(board, 32)):
        assert (views - 0.5).abs().max() < 0.05


def test_resize_is_the_identity_at_its_own_size_and_scales_bytes():
    images = noise(2, 3, 16, 16)
    assert torch.equal(resize(images, 16), images.float() / 255)
    assert torch.equal(resize(images.float() / 255, None), images.float() / 255)
    assert resize(images, 8).shape == (2, 3, 8, 8)
    assert resize(images[:0], 8).shape == (0, 3, 8, 8)
    assert torch.allclose(resize(images, 8), resize(images.double() / 255, 8))


@pytest.mark.parametrize(
    "images",
    [
        torch.zeros(2, 3, 8, 8),
        torch.zeros(3, 8, 8, dtype=torch.uint8),
        torch.zeros(2, 3, 0, 8, dtype=torch.uint8),
        torch.zeros(2, 3, 8, 8, dtype=torch.int64),
        np.zeros((2, 3, 8, 8), np.uint8),
    ],
)
def test_wrong_images_are_refused(images):
    with pytest.raises(InputError, match="images"):
        AUGMENTATIONS["cifar"](images, seeded())


@pytest.mark.parametrize(
    "setting",
    [
        {"flip": 1.5},
        {"grey": -0.1},
        {"crop_scale": (0.5, 1.5)},
        {"crop_scale": (0.0, 1.0)},
        {"zoom": (1.2, 0.8)},
        {"hue": 0.6},
        {"contrast": -1.0},
        {"interpolation": "nearest"},
        {"size": 0},
    ],
)
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        Augmentation(**setting)


def test_an_unknown_preset_names_the_near_one():
    with pytest.raises(UnknownNameError, match="did you mean 'cifar'"):
        AUGMENTATIONS["cifr"]
