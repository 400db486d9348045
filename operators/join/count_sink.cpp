#include "operators/join/match_sink.hpp"

namespace garuda::join {
namespace {

class CountSink final : public MatchSink {
 public:
  Result<void> take(contract::JoinKernel& kernel, run::SliceTask const&, std::uint64_t* rows) override {
    GARUDA_TRY_ASSIGN(*rows, kernel.count());
    return {};
  }
};

}  // namespace

std::unique_ptr<MatchSink> count_sink() { return std::make_unique<CountSink>(); }

}  // namespace garuda::join
