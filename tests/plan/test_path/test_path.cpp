#include "tests/plan/test_path/test_path.hpp"

#include <span>
#include <utility>
#include <vector>

namespace garuda::testing {

double nested_loops_pair_ns = 1;

namespace {

using contract::JoinSlice;
using contract::RowPair;

class NestedLoops final : public contract::JoinKernel {
 public:
  explicit NestedLoops(JoinSlice const& slice) {
    auto const keys = [](contract::KeySpan const& side) {
      return std::visit([](auto const& words) { return std::vector<std::uint64_t>(words.begin(), words.end()); },
                        side.words);
    };
    left_ = keys(slice.left);
    right_ = keys(slice.right);
    for (std::uint32_t l = 0; l < left_.size(); ++l)
      for (std::uint32_t r = 0; r < right_.size(); ++r)
        if (left_[l] == right_[r]) pairs_.push_back({l, r});
  }

  Result<std::uint64_t> count() override { return pairs_.size(); }
  Result<void> pairs(std::uint64_t first, std::span<RowPair> out) override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = pairs_.at(first + i);
    return {};
  }
  Result<contract::MarkBitmap> mark(Side side) override {
    contract::MarkBitmap marks(((side == Side::left ? left_ : right_).size() + 63) / 64);
    for (auto const& pair : pairs_) {
      auto const row = side == Side::left ? pair.left : pair.right;
      marks[row / 64] |= std::uint64_t{1} << row % 64;
    }
    return marks;
  }

 private:
  std::vector<std::uint64_t> left_;
  std::vector<std::uint64_t> right_;
  std::vector<RowPair> pairs_;
};

class Backend final : public contract::JoinBackend {
 public:
  Result<std::unique_ptr<contract::JoinKernel>> begin(JoinSlice const& slice, std::uint32_t) override {
    return std::make_unique<NestedLoops>(slice);
  }
};

Result<contract::JoinOffers> offers(contract::JoinInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  contract::JoinOffer offer;
  offer.candidate.path = kNestedLoops;
  offer.candidate.device = "host";
  offer.candidate.choices = "every pair of rows";
  auto const pairs = static_cast<double>(shape.left.rows) * static_cast<double>(shape.right.rows);
  contract::set_phases(offer.candidate, {{"start", 1}, {"compare", pairs * nested_loops_pair_ns}});
  offer.tuning = inquiry.options.tuning;
  offer.key_bits = shape.key_bits;
  offer.slice_rows = 1024;
  return contract::JoinOffers{{std::move(offer)}, {}};
}

}  // namespace

contract::PathRow const kNestedLoopsPath{
    .path = kNestedLoops,
    .name = "nested-loops",
    .join = {.offers = offers,
             .open = [](contract::OpenDevice*, contract::BackendOptions const&)
                 -> Result<std::unique_ptr<contract::JoinBackend>> { return std::make_unique<Backend>(); }}};

}  // namespace garuda::testing
