#include "operators/cuda/cuda_join.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "operators/cuda/cuda_lane.hpp"

namespace garuda::cuda {
namespace {

static_assert(sizeof(contract::RowPair) == sizeof(GarudaCudaRowPair));
static_assert(static_cast<int>(JoinMethod::automatic) == GARUDA_CUDA_JOIN_AUTOMATIC);
static_assert(static_cast<int>(JoinMethod::partitioned) == GARUDA_CUDA_JOIN_PARTITIONED);
static_assert(static_cast<int>(JoinMethod::global) == GARUDA_CUDA_JOIN_TABLE);
static_assert(static_cast<int>(JoinMethod::sorted) == GARUDA_CUDA_JOIN_MERGE);

void const* words_of(contract::KeySpan const& keys) {
  return std::visit([](auto const& words) { return static_cast<void const*>(words.data()); }, keys.words);
}

/// The plug-in's join behind the contract.
class CudaKernel final : public contract::JoinKernel {
 public:
  CudaKernel(CudaLane& lane, GarudaCudaJoin* join, contract::JoinSlice const& slice)
      : api_(lane.api()), join_(join), left_rows_(slice.left.size()), right_rows_(slice.right.size()) {}
  CudaKernel(CudaKernel const&) = delete;
  CudaKernel& operator=(CudaKernel const&) = delete;
  ~CudaKernel() override { api_.end_join(join_); }

  Result<std::uint64_t> count() override {
    std::uint64_t rows = 0;
    GARUDA_TRY(call(api_.join_count, join_, &rows));
    return rows;
  }

  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override {
    return call(api_.join_pairs, join_, first, out.size(), reinterpret_cast<GarudaCudaRowPair*>(out.data()));
  }

  Result<contract::MarkBitmap> mark(Side side) override {
    bool const is_left = side == Side::left;
    contract::MarkBitmap bitmap(contract::bitmap_words(is_left ? left_rows_ : right_rows_));
    GARUDA_TRY(call(api_.join_mark, join_, is_left ? 1 : 0, bitmap.size(), bitmap.data()));
    return bitmap;
  }

 private:
  GarudaCudaApi const& api_;
  GarudaCudaJoin* join_;
  std::uint64_t left_rows_;
  std::uint64_t right_rows_;
};

Result<std::unique_ptr<contract::JoinKernel>> begin_join(CudaLane& lane, contract::BackendOptions const& options,
                                                         contract::JoinSlice const& slice) {
  GARUDA_EXPECTS(slice.left.size() <= contract::kMaxPassRows && slice.right.size() <= contract::kMaxPassRows);
  GARUDA_EXPECTS(slice.left.words.index() == slice.right.words.index());
  bool build_is_left = slice.left.size() <= slice.right.size();
  if (options.tuning.build != BuildSide::automatic) build_is_left = options.tuning.build == BuildSide::left;
  GarudaCudaJoinSlice keys{};
  keys.left_keys = words_of(slice.left);
  keys.right_keys = words_of(slice.right);
  keys.left_rows = static_cast<std::uint32_t>(slice.left.size());
  keys.right_rows = static_cast<std::uint32_t>(slice.right.size());
  keys.key_bits = std::holds_alternative<std::span<std::uint32_t const>>(slice.left.words) ? 32 : 64;
  keys.method = static_cast<std::uint32_t>(options.tuning.method);
  keys.build_is_left = build_is_left ? 1 : 0;
  GarudaCudaJoin* join = nullptr;
  GARUDA_TRY(call(lane.api().begin_join, lane.handle(), &keys, &join));
  return std::make_unique<CudaKernel>(lane, join, slice);
}

}  // namespace

Result<std::unique_ptr<contract::JoinBackend>> open_cuda_join(CudaDevice& device,
                                                              contract::BackendOptions const& options) {
  using Backend =
      CudaBackend<contract::JoinBackend, contract::JoinKernel, contract::JoinSlice, contract::BackendOptions>;
  return Backend::open(device, options, begin_join);
}

std::uint64_t cuda_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits) {
  // cuda_backend/join/matches.cu. A side: its keys three times while it is sorted or partitioned, row ids twice. Build
  // rows: slot, rank, order, and 12 bytes for each of at most four slots. Probe rows: first, count and offset. Pairs:
  // two windows.
  constexpr std::uint64_t kPerBuildRow = 12 + 4 * 12;
  constexpr std::uint64_t kPerProbeRow = 16;
  constexpr std::uint64_t kWindows = std::uint64_t{24} << 20;
  auto const per_row = 3 * std::uint64_t{key_bits} / 8 + 8;
  return (left_rows + right_rows) * per_row + std::min(left_rows, right_rows) * kPerBuildRow +
         std::max(left_rows, right_rows) * kPerProbeRow + kWindows;
}

}  // namespace garuda::cuda
