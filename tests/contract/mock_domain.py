"""The original's tiny mock domain, of which it keeps its own tests: a list of tasks to be done.

It also shows how little a domain needs: records, a database, tools, and a folder with the data.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Literal

from maseval.benchmark.tau2.domains.base import DB, ToolKitBase, ToolType, for_tasks, is_tool
from maseval.benchmark.tau2.domains.domain import Domain, policy_file
from maseval.benchmark.tau2.world.state.records import Record, Table


class MockTask(Record):
    task_id: str
    title: str
    description: str | None = None
    status: Literal["pending", "completed"]


class MockUser(Record):
    user_id: str
    name: str
    tasks: list[str]


class MockDB(DB):
    tasks: Table[MockTask]
    users: Table[MockUser]


class MockTools(ToolKitBase[MockDB]):
    @is_tool(ToolType.WRITE)
    def create_task(self, user_id: str, title: str, description: str = None) -> MockTask:  # noqa: RUF013 - the original's schema
        """Create a task for a user.

        Args:
            user_id: The id of the user.
            title: The task's title.
            description: What the task is about.
        """
        if user_id not in self.db.users:
            raise ValueError(f"User {user_id} not found")
        task_id = f"task_{len(self.db.tasks) + 1}"
        task = MockTask(task_id=task_id, title=title, description=description, status="pending")
        self.db.tasks[task_id] = task
        self.db.users[user_id].tasks.append(task_id)
        return task

    @is_tool(ToolType.READ)
    def get_users(self) -> list[MockUser]:
        """List all users."""
        return list(self.db.users.values())

    @is_tool(ToolType.WRITE)
    def update_task_status(self, task_id: str, status: Literal["pending", "completed"]) -> MockTask:
        """Set the status of a task.

        Args:
            task_id: The id of the task.
            status: The new status.
        """
        task = self._task(task_id)
        task.status = status
        return task

    @is_tool(ToolType.GENERIC)
    def transfer_to_human_agents(self, summary: str) -> str:
        """Hand the user over to a human agent.

        Args:
            summary: What the user wants.
        """
        return "Transfer successful"

    @for_tasks
    def assert_number_of_tasks(self, user_id: str, expected_number: int) -> bool:
        if user_id not in self.db.users:
            raise ValueError(f"User {user_id} not found")
        return len(self.db.users.view(user_id).tasks) == expected_number

    @for_tasks
    def assert_task_status(self, task_id: str, expected_status: str) -> bool:
        return self._task(task_id).status == expected_status

    def _task(self, task_id: str) -> MockTask:
        if task_id not in self.db.tasks:
            raise ValueError(f"Task {task_id} not found")
        return self.db.tasks[task_id]


class MockNotification(Record):
    notification_id: str
    message: str
    status: Literal["unread", "read"] = "unread"
    task_id: str | None = None


class MockUserDB(DB):
    notifications: Table[MockNotification]


class MockUserTools(ToolKitBase[MockUserDB]):
    @is_tool(ToolType.READ)
    def check_notifications(self) -> list[MockNotification]:
        """List all notifications."""
        return list(self.db.notifications.values())

    @is_tool(ToolType.WRITE)
    def dismiss_notification(self, notification_id: str) -> str:
        """Mark a notification as read.

        Args:
            notification_id: The id of the notification.
        """
        self._notification(notification_id).status = "read"
        return f"Notification {notification_id} dismissed"

    @for_tasks
    def add_notification(
        self, notification_id: str, message: str, task_id: str | None = None
    ) -> MockNotification:
        notification = MockNotification(
            notification_id=notification_id, message=message, task_id=task_id
        )
        self.db.notifications[notification_id] = notification
        return notification

    @for_tasks
    def assert_notification_status(self, notification_id: str, expected_status: str) -> bool:
        return self._notification(notification_id).status == expected_status

    def _notification(self, notification_id: str) -> MockNotification:
        if notification_id not in self.db.notifications:
            raise ValueError(f"Notification {notification_id} not found")
        return self.db.notifications[notification_id]


def mock_domain(contract_dir: Path) -> Domain:
    """The domain over the data that comes with the recorded vectors."""
    return Domain(
        name="mock",
        db=MockDB,
        toolkit=MockTools,
        policy_text=policy_file("policy.md", solo="policy_solo.md"),
        data_dir=contract_dir / "mock",
    )


def mock_domain_of_verified(folder: Path) -> Domain:
    """The domain as tau2-bench-verified has it: with splits, and no tools of the user."""
    return replace(
        mock_domain(folder), version="verified", splits_file="split_tasks.json", data_dir=folder
    )


def mock_domain_of_1_0_1(folder: Path) -> Domain:
    """The domain as v1.0.1 has it: the user has tools too."""
    return Domain(
        name="mock",
        version="1.0.1",
        db=MockDB,
        toolkit=MockTools,
        user_db=MockUserDB,
        user_db_file="user_db.json",
        user_toolkit=MockUserTools,
        splits_file="split_tasks.json",
        policy_text=policy_file("policy.md", solo="policy_solo.md"),
        data_dir=folder,
    )


def lay_over(older: Path, newer: Path, folder: Path) -> Path:
    """Copy the domain's files into a folder; what a release did not change is the older one's."""
    for source in (older, newer):
        for file in source.iterdir():
            (folder / file.name).unlink(missing_ok=True)
            shutil.copyfile(file, folder / file.name)
    return folder
