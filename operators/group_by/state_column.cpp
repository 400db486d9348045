#include "operators/group_by/state_column.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "operators/resolve/exact_state.hpp"

namespace garuda::group_by {
namespace {

/// Groups whose states one task writes.
constexpr std::uint64_t kStateGroups = std::uint64_t{1} << 10;

/// What the column keeps alive.
struct StateMemory {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::byte> bytes;
};

}  // namespace

Result<Batch> write_states(resolve::FinaliseInput const& input, resolve::GroupRange const& range,
                           Control const& control) {
  try {
    struct Part {
      std::vector<std::byte> bytes;
      std::vector<std::size_t> ends;
    };
    std::vector<Part> parts((range.count + kStateGroups - 1) / kStateGroups);
    GARUDA_TRY(for_each_block(parts.size(), &control, [&](std::size_t p) {
      auto const end = std::min(range.count, (p + 1) * kStateGroups);
      for (auto i = p * kStateGroups; i < end; ++i) {
        resolve::append_exact_state(resolve::exact_state_of(input, range[i]), parts[p].bytes);
        parts[p].ends.push_back(parts[p].bytes.size());
      }
    }));
    auto memory = std::make_shared<StateMemory>();
    memory->offsets.reserve(range.count + 1);
    for (auto& part : parts) {
      auto const base = memory->bytes.size();
      for (auto const end : part.ends) memory->offsets.push_back(static_cast<std::int64_t>(base + end));
      memory->bytes.insert(memory->bytes.end(), part.bytes.begin(), part.bytes.end());
      part = {};
    }
    ArrayView column;
    column.length = static_cast<std::int64_t>(range.count);
    column.null_count = 0;
    column.offsets = memory->offsets.data();
    column.values = memory->bytes.data();
    Batch batch;
    batch.num_rows = column.length;
    batch.columns.push_back(column);
    batch.owner = std::move(memory);
    return batch;
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the states of groups");
  }
}

}  // namespace garuda::group_by
