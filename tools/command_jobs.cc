// lockstep status, jobs, cancel, cluster: one call, one answer.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "base/status_macros.h"
#include "proto/trainer.pb.h"
#include "tools/cluster_table.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/job_json.h"
#include "tools/job_table_text.h"
#include "tools/trainer_client.h"

namespace lockstep {
namespace {

struct Flags {
  std::string job;
  bool json = false;
  ClusterFlags cluster;
};

using Query = std::function<absl::Status(const Flags&, TrainerClient*)>;

void Print(const std::string& text) { std::fputs(text.c_str(), stdout); }

absl::Status ShowStatus(const Flags& flags, TrainerClient* client) {
  ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(flags.job));
  Print(flags.json ? JobJson(job) + "\n" : JobText(job));
  return absl::OkStatus();
}

absl::Status ShowJobs(const Flags& flags, TrainerClient* client) {
  ASSIGN_OR_RETURN(const v1::ListJobsResponse response, client->ListJobs());
  if (!flags.json) Print(JobsTable(response));
  if (flags.json)
    for (const v1::Job& job : response.jobs()) Print(JobJson(job) + "\n");
  return absl::OkStatus();
}

absl::Status CancelJob(const Flags& flags, TrainerClient* client) {
  ASSIGN_OR_RETURN(const v1::Job job, client->Cancel(flags.job));
  Print(flags.json ? JobJson(job) + "\n" : JobText(job));
  // A running one ends at its next step.
  if (!flags.json && job.state() == v1::RUNNING)
    Print("cancellation requested; `lockstep status` tells when it has ended\n");
  return absl::OkStatus();
}

absl::Status ShowCluster(const Flags& flags, TrainerClient* client) {
  ASSIGN_OR_RETURN(const v1::Cluster cluster, client->DescribeCluster());
  Print(flags.json ? ClusterJson(cluster) + "\n" : ClusterTable(cluster));
  return absl::OkStatus();
}

ExitCode Run(const Flags& flags, const Query& query) {
  const absl::StatusOr<std::unique_ptr<TrainerClient>> client =
      TrainerClient::Create(flags.cluster.address, flags.cluster.connect_timeout());
  const absl::Status status = client.ok() ? query(flags, client->get()) : client.status();
  return status.ok() ? ExitCode::kSucceeded : Report(status);
}

std::shared_ptr<Flags> AddQuery(CLI::App* command, Action* action, Query query) {
  auto flags = std::make_shared<Flags>();
  command->add_flag("--json", flags->json, "print JSON, one object per line");
  DeclareClusterFlags(command, &flags->cluster);
  command->callback([=] { *action = [=] { return Run(*flags, query); }; });
  return flags;
}

}  // namespace

void AddStatusCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("status", "show a job's state and, once it has ended, its results");
  const std::shared_ptr<Flags> flags = AddQuery(command, action, ShowStatus);
  command->add_option("job", flags->job, "its id (default: the newest job)")->type_name("JOB");
}

void AddJobsCommand(CLI::App* app, Action* action) {
  AddQuery(app->add_subcommand("jobs", "list the jobs of a cluster, the newest first"), action, ShowJobs);
}

void AddCancelCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("cancel", "end a queued or running job");
  const std::shared_ptr<Flags> flags = AddQuery(command, action, CancelJob);
  command->add_option("job", flags->job, "its id")->type_name("JOB")->required();
}

void AddClusterCommand(CLI::App* app, Action* action) {
  AddQuery(app->add_subcommand("cluster", "show the ranks of a cluster, and which are missing"), action,
           ShowCluster);
}

}  // namespace lockstep
