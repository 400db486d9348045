#include "operators/join/match_sink.hpp"

namespace garuda::join {
namespace {

class CountSink final : public MatchSink {
 public:
  Result<void> take(contract::JoinKernel&, std::uint64_t count, run::SliceTask const&, std::uint64_t* rows) override {
    *rows = count;
    return {};
  }
};

}  // namespace

std::unique_ptr<MatchSink> count_sink() { return std::make_unique<CountSink>(); }

}  // namespace garuda::join
