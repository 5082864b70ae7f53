//! One network namespace, with sockets made inside it that stay there.

use std::os::fd::OwnedFd;

use super::drops::Dropped;
use super::{Reading, ethtool, netlink, proc};
use crate::PortError;
use crate::process::{enter_network_namespace, network_namespace_inode};

/// A network namespace that is read from wherever the calling process is.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    pid: u32,
    inode: u32,
    route: OwnedFd,
    control: OwnedFd,
}

impl Namespace {
    /// Enter the network namespace of process `pid` and open what is needed to read it.
    ///
    /// # Errors
    /// When the process is gone or its namespaces may not be entered.
    pub fn open(name: &str, pid: u32) -> Result<Self, PortError> {
        enter_network_namespace(pid)?;
        let inode = network_namespace_inode()?;
        Ok(Self { name: name.to_owned(), pid, inode, route: netlink::open()?, control: ethtool::open()? })
    }

    /// Add everything this namespace counts, and those of the host's drops that happened in it.
    pub(super) fn read(&self, drops: &[Dropped], into: &mut Reading) {
        let interfaces = proc::read_interfaces(&self.name, self.pid, into);
        proc::read_ip(&self.name, self.pid, into);
        for queue in netlink::queues(&self.route) {
            let Some(interface) = ethtool::interface_name(&self.control, queue.interface_index) else { continue };
            let place = format!("{}/{interface}/qdisc/{}", self.name, queue.kind);
            into.insert(format!("{place}/dropped"), queue.dropped);
            into.insert(format!("{place}/overlimits"), queue.overlimits);
        }
        for drop in drops.iter().filter(|drop| drop.namespace == self.inode) {
            let interface = ethtool::interface_name(&self.control, drop.interface_index).unwrap_or_default();
            into.insert(format!("{}/kernel/{}/{interface}", self.name, drop.reason), drop.count);
        }
        for interface in interfaces {
            for (counter, count) in ethtool::drops(&self.control, &interface) {
                into.insert(format!("{}/{interface}/driver/{counter}", self.name), count);
            }
        }
    }
}
