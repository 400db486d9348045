// The memory of everything that Arrow makes here.
#pragma once

#include <arrow/memory_pool.h>

namespace garuda::io {

/// The pool of every allocation in io/ and spill/. Buffers of kPooledBytes and more are AlignedBuffers while freed host
/// memory is kept (KeptMemory): on huge pages, and used again without a page fault. Everything else is the system's, so
/// that what is freed goes back at once and a memory limit can be kept. Thread-safe.
arrow::MemoryPool* memory_pool();

}  // namespace garuda::io
