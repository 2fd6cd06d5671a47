"""Types of lend.views.exchange."""

from typing_extensions import CapsuleType

CAPSULE: CapsuleType
