#include "operators/materialize/viewed_result.hpp"

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "garuda/device_table.hpp"
#include "operators/materialize/gather.hpp"

namespace garuda::materialize {
namespace {

class ViewedResult final : public QueryResult {
 public:
  explicit ViewedResult(std::unique_ptr<QueryResult> result) : result_(std::move(result)), schema_(result_->schema()) {
    for (std::size_t c = 0; c < schema_.size(); ++c) {
      if (!is_variable_width(schema_[c].type)) continue;
      strings_.push_back(c);
      schema_[c].type = in_form(std::move(schema_[c].type), StringForm::view);
    }
  }

  Schema const& schema() const noexcept override { return schema_; }
  Plan const& plan() const noexcept override { return result_->plan(); }
  RunStats stats() const override { return result_->stats(); }
  Result<DeviceTable> take_device_table() override { return result_->take_device_table(); }

  Result<std::optional<Batch>> next() override {
    GARUDA_TRY_ASSIGN(auto batch, result_->next());
    if (!batch || strings_.empty() || batch->num_rows == 0) return batch;
    BatchView const given{batch->num_rows, batch->columns, batch->owner};
    GARUDA_TRY_ASSIGN(auto const gatherer,
                      Gatherer::create(TableView(result_->schema(), std::span(&given, 1)), strings_, StringForm::view));
    std::vector<std::int64_t> rows(static_cast<std::size_t>(batch->num_rows));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    GARUDA_TRY_ASSIGN(auto views, gatherer.gather(std::span<std::int64_t const>(rows)));
    for (std::size_t i = 0; i < strings_.size(); ++i) batch->columns[strings_[i]] = views.batch.columns[i];
    batch->owner = std::make_shared<std::pair<Batch, std::shared_ptr<void const>>>(std::move(views.batch),
                                                                                   std::move(batch->owner));
    return batch;
  }

 private:
  std::unique_ptr<QueryResult> result_;
  Schema schema_;
  std::vector<std::size_t> strings_;  ///< columns that become views
};

}  // namespace

std::unique_ptr<QueryResult> viewed_result(std::unique_ptr<QueryResult> result) {
  return std::make_unique<ViewedResult>(std::move(result));
}

}  // namespace garuda::materialize
