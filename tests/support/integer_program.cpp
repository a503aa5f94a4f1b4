#include "tests/support/integer_program.h"

#include <fcntl.h>
#include <unistd.h>

#include <coin/Cbc_C_Interface.h>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace headroom::test {
namespace {

/// CBC prints some lines at any log level.
class Silence {
 public:
  Silence() {
    std::fflush(stdout);
    stdout_ = dup(STDOUT_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~Silence() {
    std::fflush(stdout);
    dup2(stdout_, STDOUT_FILENO);
    close(stdout_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  int stdout_ = -1;
};

}  // namespace

std::optional<double> IntegerProgram::least_cost() const {
  const Silence silence;
  const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model(Cbc_newModel(), Cbc_deleteModel);
  // Column by column: where each begins, its rows, its factors.
  std::vector<std::vector<std::pair<int, double>>> columns(variables_.size());
  for (size_t row = 0; row < rows_.size(); ++row) {
    for (const auto& [variable, factor] : rows_[row].terms)
      columns[static_cast<size_t>(variable)].push_back({static_cast<int>(row), factor});
  }
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> indices;
  std::vector<double> factors;
  for (const auto& column : columns) {
    for (const auto& [row, factor] : column) {
      indices.push_back(row);
      factors.push_back(factor);
    }
    starts.push_back(static_cast<CoinBigIndex>(indices.size()));
  }
  std::vector<double> least, most, cost, row_least, row_most;
  for (const Variable& variable : variables_) {
    least.push_back(0);
    most.push_back(variable.most);
    cost.push_back(variable.cost);
  }
  for (const Row& row : rows_) {
    row_least.push_back(row.least);
    row_most.push_back(row.most);
  }
  Cbc_loadProblem(model.get(), static_cast<int>(variables_.size()), static_cast<int>(rows_.size()),
                  starts.data(), indices.data(), factors.data(), least.data(), most.data(), cost.data(),
                  row_least.data(), row_most.data());
  for (size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].integer) Cbc_setInteger(model.get(), static_cast<int>(i));
  }
  Cbc_setObjSense(model.get(), 1);
  Cbc_setParameter(model.get(), "logLevel", "0");
  Cbc_setParameter(model.get(), "ratioGap", "0");
  Cbc_setParameter(model.get(), "allowableGap", "0");
  Cbc_solve(model.get());
  if (Cbc_isProvenOptimal(model.get()) != 0) return Cbc_getObjValue(model.get());
  if (Cbc_isProvenInfeasible(model.get()) != 0) return std::nullopt;
  throw std::runtime_error("CBC proved nothing");
}

}  // namespace headroom::test
