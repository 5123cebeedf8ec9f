# SPDX-License-Identifier: MIT
"""Makes tests/golden/augment.safetensors: AutoAugment's CIFAR-10 policy and its image operations as torchvision does them
on Pillow images, nearest neighbour, filled with grey 128.

    images  [I, 3, 32, 32]    bytes as int32
    policy  [25, 2, 3]        operation, tenths of its probability, level (-1: it has none)
    levels  [operations, 10]  magnitudes of a 32×32 image; and signed [operations]
    value   [N], which [N, 2] value of case n, and its operation and image
    output  [N, 3, 32, 32]    bytes, four to an int32
    normalised [3, 32, 32]    image 0 by ToTensor and Normalize, float32

and as a text: operations, their names in order. A value is what lab/task/images/augment_operations.h says it is.
Usage: python3 tools/golden_augment.py (needs torchvision, Pillow, numpy; the file names their versions)."""
import pathlib

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
from torchvision.transforms import AutoAugment, AutoAugmentPolicy, InterpolationMode, autoaugment, functional

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
SIDE = 32
OPERATIONS = ["ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness",
              "Posterize", "Solarize", "AutoContrast", "Equalize", "Invert"]


def images():
    """Noise; a smooth scene; one of few dark values; one of a single colour; a ramp with most pixels on one value."""
    random = np.random.default_rng(20261121)
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    scene = np.stack([127 + 90 * np.sin(5 * x + 3 * y), 100 + 80 * np.cos(4 * x - 6 * y), 60 + 150 * x * y], -1)
    scene += random.normal(0, 6, scene.shape)
    few = random.choice([3, 17, 40, 41], (SIDE, SIDE, 3))
    single = np.broadcast_to([200, 13, 90], (SIDE, SIDE, 3))
    ramp = np.where(x[..., None] < 0.7, 250, 10 + 200 * np.stack([x, y, 1 - y], -1))
    every = [random.integers(0, 256, (SIDE, SIDE, 3)), scene, few, single, ramp]
    return [Image.fromarray(np.clip(image, 0, 255).astype(np.uint8)) for image in every]


def planes(image):
    return np.asarray(image).transpose(2, 0, 1)


def policy():
    """Policy and magnitudes as torchvision has them."""
    transform = AutoAugment(AutoAugmentPolicy.CIFAR10)
    table = [[[OPERATIONS.index(name), round(10 * p), -1 if level is None else level] for name, p, level in pair]
             for pair in transform.policies]
    space = transform._augmentation_space(10, (SIDE, SIDE))
    levels = [np.broadcast_to(space[name][0].numpy(), 10) for name in OPERATIONS]
    return np.array(table, np.int32), np.array(levels, np.float64), np.array([space[n][1] for n in OPERATIONS], np.int32)


def cases(levels, signed):
    """Operation, value, and how many of the images: what has no sign looks at histograms or single values, and sees all."""
    for operation, name in enumerate(OPERATIONS):
        values = sorted({float(v) for v in levels[operation][[1, 3, 6, 9] if signed[operation] else range(10)]})
        if name.startswith("Translate"):
            values = [float(int(v)) for v in values]
        for value in values:
            yield from ((operation, v, 2 if signed[operation] else 5) for v in ([value, -value] if signed[operation] else [value]))


def main():
    every = images()
    table, levels, signed = policy()
    values, which, outputs = [], [], []
    for operation, value, images_seen in cases(levels, signed):
        for i, image in enumerate(every[:images_seen]):
            out = autoaugment._apply_op(image, OPERATIONS[operation], int(value) if OPERATIONS[operation] == "Posterize" else value,
                                        interpolation=InterpolationMode.NEAREST, fill=[128, 128, 128])
            values.append(value)
            which.append([operation, i])
            outputs.append(planes(out))
    normalised = functional.normalize(functional.to_tensor(every[0]), (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    arrays = {"0.images": np.stack([planes(image) for image in every]).astype(np.int32), "0.policy": table,
              "0.levels": levels, "0.signed": signed, "0.value": np.array(values), "0.which": np.array(which, np.int32),
              "0.output": np.stack(outputs).reshape(len(outputs), -1).view(np.int32), "0.normalised": normalised.numpy()}
    made_with = f"torchvision {torchvision.__version__}, Pillow {PIL.__version__}, torch {torch.__version__}, numpy {np.__version__}"
    golden_format.write(GOLDEN / "augment.safetensors", arrays,
                        {"count": 1, "0.operations": " ".join(OPERATIONS), "made_with": made_with})


if __name__ == "__main__":
    main()
