"""Types of lend.capi."""

from typing_extensions import CapsuleType

API: CapsuleType
