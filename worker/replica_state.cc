#include "worker/replica_state.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "proto/checkpoint.pb.h"
#include "proto/model.pb.h"
#include "worker/safetensors_reader.h"

namespace lockstep {
namespace {

absl::Span<std::byte> Bytes(absl::Span<float> values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)};
}

std::vector<TensorDestination> Destinations(const Replica& replica, absl::Span<float> buffer,
                                            const std::string& prefix) {
  std::vector<TensorDestination> destinations;
  for (const Parameter& parameter : replica.network().layout().parameters()) {
    destinations.push_back({absl::StrCat(prefix, parameter.name), parameter.shape,
                            buffer.subspan(parameter.offset, parameter.size)});
  }
  return destinations;
}

std::string SlotPrefix(const Replica& replica, size_t slot) {
  return absl::StrCat(replica.optimizer().slots()[slot].name, "/");
}

void AppendTensors(const Replica& replica, absl::Span<float> buffer, const std::string& prefix,
                   std::vector<NamedTensor>* tensors) {
  for (const TensorDestination& view : Destinations(replica, buffer, prefix))
    tensors->push_back({view.name, view.shape, view.values});
}

}  // namespace

std::string SpecHash(const v1::Model& model, const v1::Compile& compile) {
  return HashToHex(Hash64(absl::StrCat(model.SerializeAsString(), "|", compile.loss().SerializeAsString(),
                                       "|", static_cast<int>(compile.optimizer().kind_case()))));
}

CheckpointContents Snapshot(const Replica& replica, uint64_t parameter_hash,
                            const v1::CheckpointManifest& position) {
  CheckpointContents contents;
  contents.manifest = position;
  contents.manifest.set_step(replica.step());
  contents.manifest.set_layout_hash(HashToHex(replica.network().layout().hash()));
  contents.manifest.set_parameter_hash(HashToHex(parameter_hash));
  contents.manifest.set_optimizer(replica.optimizer().name());
  AppendTensors(replica, replica.parameters(), "", &contents.model);
  for (size_t i = 0; i < replica.slots().size(); ++i)
    AppendTensors(replica, replica.slots()[i], SlotPrefix(replica, i), &contents.optimizer);
  return contents;
}

absl::Status RestoreParameters(const LoadedCheckpoint& checkpoint, Replica* replica) {
  RETURN_IF_ERROR(checkpoint.ReadModel(Destinations(*replica, replica->parameters(), "")));
  replica->set_step(checkpoint.manifest().step());
  return absl::OkStatus();
}

absl::Status RestoreAll(const LoadedCheckpoint& checkpoint, Replica* replica) {
  const std::string& optimizer = checkpoint.manifest().optimizer();
  if (optimizer != replica->optimizer().name()) {
    return absl::FailedPreconditionError(
        absl::StrCat(checkpoint.path(), " was written with the optimizer ", optimizer, ", the job has ",
                     replica->optimizer().name(),
                     ": resume with the same one, or start from its weights alone (initial_weights)"));
  }
  std::vector<TensorDestination> slots;
  for (size_t i = 0; i < replica->slots().size(); ++i) {
    for (TensorDestination& view : Destinations(*replica, replica->slots()[i], SlotPrefix(*replica, i)))
      slots.push_back(std::move(view));
  }
  RETURN_IF_ERROR(RestoreParameters(checkpoint, replica));
  return checkpoint.ReadOptimizer(slots);
}

absl::Status LoadWeights(FileSystem* files, const std::string& path, Replica* replica) {
  ASSIGN_OR_RETURN(const SafetensorsReader reader, SafetensorsReader::Open(files, path));
  return reader.ReadAll(Destinations(*replica, replica->parameters(), ""), "the model");
}

absl::Status BroadcastReplica(Communicator* communicator, int root, Replica* replica) {
  int64_t step = replica->step();
  RETURN_IF_ERROR(
      communicator->Broadcast(root, absl::MakeSpan(reinterpret_cast<std::byte*>(&step), sizeof(step))));
  replica->set_step(step);
  RETURN_IF_ERROR(communicator->Broadcast(root, Bytes(replica->parameters())));
  for (const absl::Span<float> slot : replica->slots())
    RETURN_IF_ERROR(communicator->Broadcast(root, Bytes(slot)));
  return absl::OkStatus();
}

}  // namespace lockstep
