"""The base class of all model values."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value that rejects unknown fields; equality is by content."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True)
