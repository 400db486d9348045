#include "operators/group_by/state_column.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel_blocks.hpp"
#include "operators/resolve/exact_state.hpp"

namespace garuda::group_by {
namespace {

/// Groups whose states one task writes.
constexpr std::uint64_t kStateGroups = std::uint64_t{1} << 10;

/// What the column keeps alive.
struct StateMemory {
  AlignedBuffer offsets;
  AlignedBuffer bytes;
};

}  // namespace

Result<Batch> write_states(resolve::FinaliseInput const& input, resolve::GroupRange const& range,
                           Control const& control) {
  try {
    std::vector<std::vector<std::byte>> parts((range.count + kStateGroups - 1) / kStateGroups);
    GARUDA_TRY_ASSIGN(auto offsets,
                      AlignedBuffer::allocate(static_cast<std::int64_t>((range.count + 1) * sizeof(std::int64_t))));
    auto* const ends = offsets.as<std::int64_t>() + 1;
    GARUDA_TRY(for_each_block(parts.size(), &control, [&](std::size_t p) {
      auto const end = std::min(range.count, (p + 1) * kStateGroups);
      for (auto i = p * kStateGroups; i < end; ++i) {
        resolve::append_exact_state(resolve::exact_state_of(input, range[i]), parts[p]);
        ends[i] = static_cast<std::int64_t>(parts[p].size());
      }
    }));
    std::vector<std::size_t> bases(parts.size());
    std::size_t total = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      bases[p] = total;
      total += parts[p].size();
    }
    GARUDA_TRY_ASSIGN(auto bytes, AlignedBuffer::allocate(static_cast<std::int64_t>(total)));
    offsets.as<std::int64_t>()[0] = 0;
    GARUDA_TRY(for_each_block(parts.size(), &control, [&](std::size_t p) {
      std::ranges::copy(parts[p], bytes.data() + bases[p]);
      parts[p] = {};
      auto const end = std::min(range.count, (p + 1) * kStateGroups);
      for (auto i = p * kStateGroups; i < end; ++i) ends[i] += static_cast<std::int64_t>(bases[p]);
    }));
    ArrayView column;
    column.length = static_cast<std::int64_t>(range.count);
    column.null_count = 0;
    column.offsets = offsets.data();
    column.values = bytes.data();
    Batch batch;
    batch.num_rows = column.length;
    batch.columns.push_back(column);
    batch.owner = std::make_shared<StateMemory>(StateMemory{std::move(offsets), std::move(bytes)});
    return batch;
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the states of groups");
  }
}

}  // namespace garuda::group_by
