"""Models by name, each checked: found, fetched or made, in one cache folder."""

from harness.models.catalogue import MODELS, Model, is_known, model, model_file, provide, resolve
from harness.models.errors import CacheError, ModelDamaged, ModelError, ModelMissing, UnknownModel
from harness.models.memory import Memory, Origin

__all__ = [
    "MODELS",
    "CacheError",
    "Memory",
    "Model",
    "ModelDamaged",
    "ModelError",
    "ModelMissing",
    "Origin",
    "UnknownModel",
    "is_known",
    "model",
    "model_file",
    "provide",
    "resolve",
]
