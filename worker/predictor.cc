#include "worker/predictor.h"

#include <vector>

#include "base/status_macros.h"
#include "model/shape.h"
#include "worker/npy_writer.h"

namespace lockstep {

absl::Status WritePredictions(Replica* replica, Communicator* communicator, BatchLoader* loader,
                              int64_t steps, int64_t rows, FileSystem* files, const std::string& path) {
  std::unique_ptr<NpyWriter> writer;
  if (communicator->rank() == 0) {
    std::vector<int64_t> shape = replica->network().output_shape();
    shape.insert(shape.begin(), rows);
    ASSIGN_OR_RETURN(writer, NpyWriter::Create(files, path, shape));
  }
  const int64_t outputs_per_row = NumElements(replica->network().output_shape());
  for (int64_t step = 0; step < steps; ++step) {
    ASSIGN_OR_RETURN(const Batch* batch, loader->Next());
    ASSIGN_OR_RETURN(const float* outputs,
                     replica->network().Forward(replica->parameters(), batch->features.data(), batch->rows,
                                                PassContext()));
    // Slices lie in rank order within a batch, so the gathered parts in rank order are the batch's rows.
    ASSIGN_OR_RETURN(const std::vector<std::string> parts,
                     communicator->AllGather({reinterpret_cast<const char*>(outputs),
                                              batch->rows * outputs_per_row * sizeof(float)}));
    if (writer == nullptr) continue;
    for (const std::string& part : parts) RETURN_IF_ERROR(writer->Append(part));
  }
  return writer == nullptr ? absl::OkStatus() : writer->Finish();
}

}  // namespace lockstep
