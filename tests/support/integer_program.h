#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace headroom::test {

/// An integer program in the form that CBC takes: minimise costs under linear equalities and inequalities.
class IntegerProgram {
 public:
  /// A variable of 0 or 1.
  int binary(double cost) { return add({cost, 1, true}); }
  /// A variable of 0 or more.
  int continuous(double cost) { return add({cost, 1e300, false}); }
  using Terms = std::vector<std::pair<int, double>>;  ///< variable, factor
  void equal(const Terms& terms, double value) { rows_.push_back({terms, value, value}); }
  void at_most(const Terms& terms, double value) { rows_.push_back({terms, -1e300, value}); }

  /// The least cost by CBC; empty where it says that there is no solution. Throws std::runtime_error where it
  /// proves neither.
  std::optional<double> least_cost() const;

 private:
  struct Variable {
    double cost, most;
    bool integer;
  };
  struct Row {
    Terms terms;
    double least, most;
  };
  int add(const Variable& variable) {
    variables_.push_back(variable);
    return static_cast<int>(variables_.size()) - 1;
  }
  std::vector<Variable> variables_;
  std::vector<Row> rows_;
};

}  // namespace headroom::test
