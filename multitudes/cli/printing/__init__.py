"""What people see: tables, wrapped lines, figures and pages."""
