-- A database as version 1 of the shape left it: two values and a run.
CREATE TABLE openfunctions_migrations (
  version INTEGER NOT NULL PRIMARY KEY,
  checksum TEXT NOT NULL,
  applied_at TEXT NOT NULL
) STRICT;
CREATE TABLE openfunctions_values (
  store TEXT NOT NULL,
  -- UTF-16 big endian, so that keys are ordered by code unit.
  key BLOB NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (store, key)
) STRICT;
CREATE TABLE openfunctions_runs (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  started_at TEXT NOT NULL,
  status TEXT NOT NULL,
  kind TEXT NOT NULL,
  actor TEXT NOT NULL,
  thread_id TEXT,
  task_id TEXT,
  correlation_id TEXT NOT NULL,
  seal TEXT,
  -- The record of a run that ended or is suspended; others are folded when asked for.
  record TEXT
) STRICT;
CREATE INDEX openfunctions_runs_by_time ON openfunctions_runs (started_at, run_id, kind, actor);
CREATE INDEX openfunctions_runs_by_status ON openfunctions_runs (status, started_at, run_id);
CREATE INDEX openfunctions_runs_by_thread ON openfunctions_runs (thread_id, started_at, run_id)
  WHERE thread_id IS NOT NULL;
CREATE INDEX openfunctions_runs_by_task ON openfunctions_runs (task_id, started_at, run_id)
  WHERE task_id IS NOT NULL;
CREATE INDEX openfunctions_runs_by_correlation ON openfunctions_runs (correlation_id, started_at, run_id);
CREATE TABLE openfunctions_run_events (
  id INTEGER PRIMARY KEY,
  event TEXT NOT NULL,
  run INTEGER GENERATED ALWAYS AS (id >> 24) VIRTUAL,
  seq INTEGER GENERATED ALWAYS AS (id & 0xffffff) VIRTUAL
) STRICT;
CREATE TABLE openfunctions_run_redactions (
  run_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  redaction TEXT NOT NULL,
  PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;
INSERT INTO openfunctions_migrations (version, checksum, applied_at) VALUES (1, 'sha256:617b84b2339e2c96aa7796dd9e5022c943c708e9919b2f2bfdc7757b18b32a42', '2026-12-01T03:35:36.245Z');
INSERT INTO openfunctions_values (store, key, value) VALUES ('things', X'0061', '{"n":1,"text":"it''s kept"}');
INSERT INTO openfunctions_values (store, key, value) VALUES ('things', X'D83DDE00', '[1,2]');
INSERT INTO openfunctions_runs (id, run_id, started_at, status, kind, actor, thread_id, task_id, correlation_id, seal, record) VALUES (1, 'version-1', '2026-12-01T03:35:36.258Z', 'completed', 'agent', 'agent', NULL, NULL, 'version-1', NULL, '{"schema":"run/1","runId":"version-1","kind":"agent","lineage":{"rootRunId":"version-1","correlationId":"version-1","attempt":1,"depth":0},"actor":{"name":"agent"},"principal":{"kind":"program","id":"local","via":"local"},"owner":"local","capabilities":{"digest":"sha256:f6cfaca3134f6f0eff0e38446332ddd6f7e2d592c777d1c5d0bdf979aa89675f","tools":[]},"authority":{"grants":[],"waivers":[]},"limits":{"maxRounds":10,"maxToolCalls":64,"wallMs":300000,"maxRepeats":3},"environment":{"runtime":"node 24.21.0","frameworkVersion":"0.1.0","process":{"pid":15981,"host":"sha256:83c8613c5fc9158ffcdaebd460ad0e54a7547a49b88c46fc147f8ada5a0ac003"}},"capture":"digest","sealed":false,"model":{"provider":"scripted","requested":"scripted-model","resolvedBy":"injected","reported":["scripted-model"]},"context":[],"status":"completed","startedAt":"2026-12-01T03:35:36.258Z","stopReason":"model_response","endedAt":"2026-12-01T03:35:36.268Z","output":{"$sealed":"sha256:0297c4ece80dc3cacc717089a4cbbda0db7fd49847506ed7073af1af7dd09fe6","salt":"7ad3530b799b431b902fca9abad9dd36"},"rounds":1,"usage":{"input":0,"cacheRead":0,"cacheWrite":0,"output":0,"reasoning":0,"total":0},"lastRequestTokens":0,"modelCalls":[{"round":0,"callSeq":0,"finishReason":"stop","usage":{"input":0,"cacheRead":0,"cacheWrite":0,"output":0,"reasoning":0,"total":0},"latencyMs":1,"firstEventMs":1,"responseId":"scripted_0","reportedModel":"scripted-model","toolCallIds":[],"requestDigest":"sha256:e954fb9c00be633c01685b7fc8e90dbffdbffb1f435b1d2daff7a4561cf74c96","retries":0}],"toolCalls":[],"children":[],"effects":{"summary":"none","certainty":"known","verificationRequired":[]},"head":"sha256:89b268923e374ec5fec59cf4d1f0a3a5679fa0586a5cd889828ebbb72c775038"}');
INSERT INTO openfunctions_run_events (id, event) VALUES (16777216, '{"v":1,"runId":"version-1","seq":0,"at":"2026-12-01T03:35:36.258Z","type":"run.started","data":{"kind":"agent","lineage":{"rootRunId":"version-1","correlationId":"version-1","attempt":1,"depth":0},"actor":{"name":"agent"},"principal":{"kind":"program","id":"local","via":"local"},"owner":"local","model":{"provider":"scripted","requested":"scripted-model","resolvedBy":"injected"},"capabilities":{"digest":"sha256:f6cfaca3134f6f0eff0e38446332ddd6f7e2d592c777d1c5d0bdf979aa89675f","tools":[]},"authority":{"grants":[],"waivers":[]},"limits":{"maxRounds":10,"maxToolCalls":64,"wallMs":300000,"maxRepeats":3},"environment":{"runtime":"node 24.21.0","frameworkVersion":"0.1.0","process":{"pid":15981,"host":"sha256:83c8613c5fc9158ffcdaebd460ad0e54a7547a49b88c46fc147f8ada5a0ac003"}},"capture":"digest","sealed":false},"prev":"sha256:540c46ca8e930e390e2fd757ad9c7a579e61b20ca3c2ff1148ec03f245bfae60","hash":"sha256:b51487e35519116329999e1a3ea2f1d00809835c272490a4187be851adc965ff"}');
INSERT INTO openfunctions_run_events (id, event) VALUES (16777217, '{"v":1,"runId":"version-1","seq":1,"at":"2026-12-01T03:35:36.265Z","type":"message.appended","data":{"role":"user","message":{"$sealed":"sha256:ed7704877cb8d85fbe4ed5e1a7f8f93c873eb26a1b7cacb8397445dde3061ad4","salt":"53fcc4e537234210ab49e868554e8c55"}},"prev":"sha256:b51487e35519116329999e1a3ea2f1d00809835c272490a4187be851adc965ff","hash":"sha256:19aee354966d060c1717f687b268ccedb30b9e3baa3b22fd4b717eb6ab2b3b02"}');
INSERT INTO openfunctions_run_events (id, event) VALUES (16777218, '{"v":1,"runId":"version-1","seq":2,"at":"2026-12-01T03:35:36.266Z","type":"model.requested","data":{"round":0,"callSeq":0,"requestDigest":"sha256:e954fb9c00be633c01685b7fc8e90dbffdbffb1f435b1d2daff7a4561cf74c96"},"prev":"sha256:19aee354966d060c1717f687b268ccedb30b9e3baa3b22fd4b717eb6ab2b3b02","hash":"sha256:c449319f30dfbe691ab22438d5105f72ce5988f17f6ea33ade51e6cb0ffc5333"}');
INSERT INTO openfunctions_run_events (id, event) VALUES (16777219, '{"v":1,"runId":"version-1","seq":3,"at":"2026-12-01T03:35:36.267Z","type":"model.responded","data":{"round":0,"callSeq":0,"finishReason":"stop","usage":{"input":0,"cacheRead":0,"cacheWrite":0,"output":0,"reasoning":0,"total":0},"latencyMs":1,"firstEventMs":1,"responseId":"scripted_0","reportedModel":"scripted-model","toolCallIds":[],"reply":{"$sealed":"sha256:1e5ca75e11655f3dff01920d69e53ce046722f07a221762362644af6fc9a5bab","salt":"e1c017c9e1c343e3a460e8ecacb41562"}},"prev":"sha256:c449319f30dfbe691ab22438d5105f72ce5988f17f6ea33ade51e6cb0ffc5333","hash":"sha256:a9fed61d0268e197dd64442ae3afe68896eadd4e51f8a26ec09a76fc2b63c9cf"}');
INSERT INTO openfunctions_run_events (id, event) VALUES (16777220, '{"v":1,"runId":"version-1","seq":4,"at":"2026-12-01T03:35:36.268Z","type":"run.completed","data":{"stopReason":"model_response","output":{"$sealed":"sha256:0297c4ece80dc3cacc717089a4cbbda0db7fd49847506ed7073af1af7dd09fe6","salt":"7ad3530b799b431b902fca9abad9dd36"}},"prev":"sha256:a9fed61d0268e197dd64442ae3afe68896eadd4e51f8a26ec09a76fc2b63c9cf","hash":"sha256:89b268923e374ec5fec59cf4d1f0a3a5679fa0586a5cd889828ebbb72c775038"}');
