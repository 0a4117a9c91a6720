// The chief's jobs on disk: what survives the death of its process, and a loss of power.
//
// DIRECTORY/jobs.sqlite (SQLite in WAL mode, with its companion jobs.sqlite-wal) has two tables:
//   jobs    one row per job: its specification, state, summary and last generation, in the order of
//   submission events  the events of each job in their order; progress is not among them
// One process at a time has the file: the lock is the system's and ends with the process, however that ends.
// Thread-compatible.
//
// Errors of all functions name the file:
//   DATA_LOSS: it is damaged. It is left as it is: to be repaired, or moved away to start anew.
//   RESOURCE_EXHAUSTED: the disk is full. PERMISSION_DENIED. UNKNOWN: others, with SQLite's text.
#ifndef LOCKSTEP_WORKER_JOB_STORE_H_
#define LOCKSTEP_WORKER_JOB_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"

struct sqlite3;

namespace lockstep {

// What is known of a job beside its events.
struct JobRecord {
  v1::Job job;  // without progress
  v1::JobSpec spec;
  std::string request_id;
  int64_t number = 0;           // of its submission, from 1
  int64_t last_generation = 0;  // 0: it has had none yet
  bool cancel_requested = false;
};

class JobStore {
 public:
  // Makes the directory, for its owner only, and the file if they are missing.
  // FAILED_PRECONDITION: another process has the file; or it was written by a newer version, or is not a job
  // store at all. It is not changed then.
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(const std::string& directory);
  ~JobStore();

  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  struct StoredJob {
    JobRecord record;
    std::vector<v1::JobEvent> events;  // with the sequence numbers 1, 2, 3, ...
  };
  // In the order of submission.
  absl::StatusOr<std::vector<StoredJob>> Load();

  // One job as it is now. Not owned.
  struct Update {
    const JobRecord* record;
    absl::Span<const v1::JobEvent> new_events;  // those that follow the stored ones
  };
  // Stores these jobs, and removes those with the numbers `removed`. Durable when it returns OK; otherwise
  // nothing has changed, and it may be tried again.
  absl::Status Write(absl::Span<const Update> updates, absl::Span<const int64_t> removed);

  const std::string& path() const { return path_; }

 private:
  JobStore(const std::string& path, sqlite3* database) : path_(path), database_(database) {}

  absl::Status Prepare();
  absl::Status CheckSchema();
  absl::Status CheckWhole();
  absl::Status LoadEvents(StoredJob* job);
  absl::Status WriteAll(absl::Span<const Update> updates, absl::Span<const int64_t> removed);
  absl::Status WriteOne(const Update& update);
  absl::Status Execute(const char* sql);
  absl::StatusOr<int64_t> Ask(const char* sql);
  absl::Status Damaged(const std::string& what) const;
  // The error of the last call.
  absl::Status Failed(const std::string& what) const;

  const std::string path_;
  sqlite3* const database_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_WORKER_JOB_STORE_H_
