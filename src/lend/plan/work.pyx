"""What a plan needs the record itself for: rows behind pointers, a signed mark, a look into what must not be taken."""
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from lend._core.dlpack cimport DLPACK_MAJOR_VERSION, DLManagedTensor, DLManagedTensorVersioned
from lend._core.record cimport READONLY, UNTOLD, WANT_ANY, byte_count
from lend.protocols cimport dlpack
from lend.protocols.buffer cimport take_gathered
from lend.views.view cimport View, blank, derive, track

from lend._core import copies
from lend.views import describe


def gathered(obj, str why):
    """A View of fresh memory with the rows of a buffer that has suboffsets, counted under `why`."""
    cdef View made = blank()
    made.holder = take_gathered(obj, &made.record)
    track(made)
    copies.note(describe.facts(made), why, byte_count(&made.record))
    return made


def unmarked(View view):
    """The same memory without its read-only mark, for targets that never write or whose user signed for them."""
    cdef View other = derive(view)
    other.record.flags &= ~READONLY
    return other


def peek(capsule):
    """A View of what a DLPack capsule describes, which stays unconsumed; valid while the capsule is. None: it is used.

    The reader of capsules is given a tensor of ours with the same description, whose deleter frees nothing else.
    """
    cdef DLManagedTensorVersioned* theirs
    cdef DLManagedTensorVersioned* ours
    cdef View view
    cdef bint versioned = PyCapsule_IsValid(capsule, "dltensor_versioned")
    if not versioned and not PyCapsule_IsValid(capsule, "dltensor"):
        return None
    view = blank()
    ours = <DLManagedTensorVersioned*> malloc(sizeof(DLManagedTensorVersioned))
    if ours is NULL:
        raise MemoryError
    memset(ours, 0, sizeof(DLManagedTensorVersioned))
    if versioned:
        theirs = <DLManagedTensorVersioned*> PyCapsule_GetPointer(capsule, "dltensor_versioned")
        ours.version = theirs.version
        if theirs.version.major == DLPACK_MAJOR_VERSION:
            ours.flags = theirs.flags
            ours.dl_tensor = theirs.dl_tensor
    else:
        ours.version.major = DLPACK_MAJOR_VERSION
        ours.dl_tensor = (<DLManagedTensor*> PyCapsule_GetPointer(capsule, "dltensor")).dl_tensor
    ours.deleter = free_ours
    dlpack.read_managed(ours, None, &view.record, WANT_ANY)
    view.holder = dlpack.keep_managed(ours, None, &view.record, &view.lease)
    track(view)
    if not versioned:
        view.record.flags |= READONLY | UNTOLD
    return view


cdef void free_ours(DLManagedTensorVersioned* ours) noexcept nogil:
    free(ours)
