// What messages call the rows and cells of a dataset.
#ifndef LOCKSTEP_DATA_ROW_NAMES_H_
#define LOCKSTEP_DATA_ROW_NAMES_H_

#include <cstdint>
#include <string>

namespace lockstep {

// Thread-safe.
class RowNames {
 public:
  virtual ~RowNames() = default;

  virtual std::string Row(int64_t row) const = 0;
  // `element` counts the features of the row.
  virtual std::string Feature(int64_t row, int64_t element) const = 0;
  virtual std::string Label(int64_t row) const = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_ROW_NAMES_H_
