//! The store against a model in memory, against damage, and against other processes.

mod build;
mod changes;
mod cluster;
mod cluster_damage;
mod damage;
mod engine;
mod folders;
mod model;
mod processes;
mod reads;
mod recipes;
mod search;
mod support;
mod versions;
