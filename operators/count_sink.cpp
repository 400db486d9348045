#include "operators/match_sink.hpp"

namespace garuda::operators {
namespace {

class CountSink final : public MatchSink {
 public:
  Result<void> take(JoinKernel&, std::uint64_t count, SliceTask const&, std::uint64_t* rows) override {
    *rows = count;
    return {};
  }
};

}  // namespace

std::unique_ptr<MatchSink> count_sink() { return std::make_unique<CountSink>(); }

}  // namespace garuda::operators
