#include "operators/cuda/cuda_join.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "operators/cuda/cuda_lane.hpp"

namespace garuda::cuda {
namespace {

static_assert(sizeof(contract::RowPair) == sizeof(GarudaCudaRowPair));

GarudaCudaJoinMethod method_of(JoinMethod method) {
  switch (method) {
    case JoinMethod::partitioned:
      return GARUDA_CUDA_JOIN_PARTITIONED;
    case JoinMethod::global:
      return GARUDA_CUDA_JOIN_TABLE;
    case JoinMethod::sorted:
      return GARUDA_CUDA_JOIN_MERGE;
    case JoinMethod::automatic:
      break;
  }
  return GARUDA_CUDA_JOIN_AUTOMATIC;
}

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
    GarudaCudaError error{};
    std::uint64_t rows = 0;
    GARUDA_TRY(cuda_result(api_.join_count(join_, &rows, &error), error));
    return rows;
  }

  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override {
    GarudaCudaError error{};
    auto* const pairs = reinterpret_cast<GarudaCudaRowPair*>(out.data());
    return cuda_result(api_.join_pairs(join_, first, out.size(), pairs, &error), error);
  }

  Result<contract::MarkBitmap> mark(Side side) override {
    GarudaCudaError error{};
    bool const is_left = side == Side::left;
    contract::MarkBitmap bitmap(((is_left ? left_rows_ : right_rows_) + 63) / 64);
    GARUDA_TRY(cuda_result(api_.join_mark(join_, is_left ? 1 : 0, bitmap.size(), bitmap.data(), &error), error));
    return bitmap;
  }

 private:
  GarudaCudaApi const& api_;
  GarudaCudaJoin* join_;
  std::uint64_t left_rows_;
  std::uint64_t right_rows_;
};

class CudaBackend final : public contract::JoinBackend {
 public:
  CudaBackend(contract::BackendOptions const& options, std::vector<std::unique_ptr<CudaLane>> lanes)
      : options_(options), lanes_(std::move(lanes)) {}

  Result<std::unique_ptr<contract::JoinKernel>> begin(contract::JoinSlice const& slice, std::uint32_t lane) override;

 private:
  contract::BackendOptions options_;
  std::vector<std::unique_ptr<CudaLane>> lanes_;
};

Result<std::unique_ptr<contract::JoinKernel>> CudaBackend::begin(contract::JoinSlice const& slice, std::uint32_t lane) {
  auto& own = *lanes_.at(lane);
  GARUDA_EXPECTS(slice.left.size() <= contract::kMaxPassRows && slice.right.size() <= contract::kMaxPassRows);
  GARUDA_EXPECTS(slice.left.words.index() == slice.right.words.index());
  bool build_is_left = slice.left.size() <= slice.right.size();
  if (options_.tuning.build != BuildSide::automatic) build_is_left = options_.tuning.build == BuildSide::left;
  GarudaCudaJoinSlice keys{};
  keys.left_keys = words_of(slice.left);
  keys.right_keys = words_of(slice.right);
  keys.left_rows = static_cast<std::uint32_t>(slice.left.size());
  keys.right_rows = static_cast<std::uint32_t>(slice.right.size());
  keys.key_bits = std::holds_alternative<std::span<std::uint32_t const>>(slice.left.words) ? 32 : 64;
  keys.method = method_of(options_.tuning.method);
  keys.build_is_left = build_is_left ? 1 : 0;
  GarudaCudaError error{};
  GarudaCudaJoin* join = nullptr;
  GARUDA_TRY(cuda_result(own.api().begin_join(own.handle(), &keys, &join, &error), error));
  return std::make_unique<CudaKernel>(own, join, slice);
}

}  // namespace

Result<std::unique_ptr<contract::JoinBackend>> open_cuda_join(CudaDevice& device,
                                                              contract::BackendOptions const& options) {
  GARUDA_TRY_ASSIGN(auto lanes, CudaLane::open(device, cuda_lane_options(options)));
  return std::make_unique<CudaBackend>(options, std::move(lanes));
}

std::uint64_t cuda_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits) {
  // cuda_backend/matches.cpp. A side: its keys three times while it is sorted or partitioned, row ids twice. Build
  // rows: slot, rank, order, and 12 bytes for each of at most four slots; in partitions less. Probe rows: first, count
  // and offset. Pairs: two windows.
  constexpr std::uint64_t kPerBuildRow = 12 + 4 * 12;
  constexpr std::uint64_t kPerProbeRow = 16;
  constexpr std::uint64_t kWindows = std::uint64_t{24} << 20;
  auto const per_row = 3 * std::uint64_t{key_bits} / 8 + 8;
  return (left_rows + right_rows) * per_row + std::min(left_rows, right_rows) * kPerBuildRow +
         std::max(left_rows, right_rows) * kPerProbeRow + kWindows;
}

}  // namespace garuda::cuda
