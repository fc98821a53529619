"""A learner as one file that needs nothing of this package: ONNX or torch.export."""

from scale.export import other_families as other_families
from scale.export.export import Exported, describe, export_learner, usage
from scale.export.families import export_module

__all__ = ["Exported", "describe", "export_learner", "export_module", "usage"]
